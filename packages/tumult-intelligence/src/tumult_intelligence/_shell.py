"""Read a shell one-liner closely enough to know which programs it runs, with what, and what is piped into them.

It does not need to know what the line means: what it cannot read, it says so, and the policy refuses that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import define, field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ACTIVE = "\ue000"
"""Stands for a ``$`` or backtick that the shell acts on, so that a quoted dollar sign is told from it."""

PLACE = "\ue001"
"""Stands for a placeholder of the document, whose value is put in before anything reads the text."""

_REDIRECT = re.compile(r"\d*(?:<<<|<<-|<<|<>|>>|>\||&>>|&>|>&|<&|<|>)")
_OPERATOR = re.compile(r";;&|;&|;;|&&|\|\||\|&|[;&|()\n]")
_VARIABLE = re.compile(r"\w+|[@*#?!$-]")
_NUMBERS = frozenset("?#!$")  # what these stand for is a number, whatever it is
_PLAIN_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_PLAIN_VALUE = re.compile(r"[\w./:@%+-]+")
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "esac", "{", "}", "!", "time", "coproc"}
)
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_MAX_DEPTH = 8


class UnreadableShell(ValueError):
    """The line is no shell that can be read: a quote without its end."""


@frozen
class Simple:
    """One simple command of a line.

    Attributes:
        words: quotes removed; what the shell puts in begins with ``ACTIVE``.
        assigned: the ``NAME=value`` words before the program.
        redirects: the files that its output goes to.
        stdin: the text that it is given, as far as the line says it.
        piped: something is put into its standard input.
    """

    words: tuple[str, ...]
    assigned: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    stdin: str = ""
    piped: bool = False


@define
class _Token:
    kind: str  # "word", "redirect", "operator"
    text: str
    body: str = ""


def simple_commands(line: str, env: Mapping[str, str] | None = None, depth: int = 0) -> Iterator[Simple]:
    """Give every simple command of the line, those in its substitutions included, in no particular order.

    Args:
        line: shell text.
        env: variables whose values are known.
        depth: how many shells read it before.

    Raises:
        UnreadableShell: it cannot be read, or it nests deeper than anybody reviews.
    """
    if depth > _MAX_DEPTH:
        raise UnreadableShell("it nests too deeply")
    reader = _Reader(line, {name: value for name, value in (env or {}).items() if _is_constant(name, value, line)})
    tokens = reader.tokens()
    for inner in reader.inner:
        yield from simple_commands(inner, env, depth + 1)
    yield from _simple(tokens)


def _is_constant(name: str, value: str, line: str) -> bool:
    """Tell whether ``$name`` is one harmless word wherever the line uses it."""
    named_otherwise = re.search(rf"(?<![\w${{]){re.escape(name)}(?!\w)", line)
    return bool(_PLAIN_VALUE.fullmatch(value)) and named_otherwise is None


@define
class _Reader:
    """Cuts a line into tokens; what substitutions hold is collected apart."""

    text: str
    env: Mapping[str, str]
    inner: list[str] = field(factory=list)
    _place: int = field(default=0, alias="place")
    _documents: list[tuple[_Token, str, bool]] = field(factory=list)

    def tokens(self) -> list[_Token]:
        found: list[_Token] = []
        while self._place < len(self.text):
            char = self.text[self._place]
            if char in " \t\r" or self.text.startswith("\\\n", self._place):
                self._place += 1 if char != "\\" else 2
            elif char == "#":
                end = self.text.find("\n", self._place)
                self._place = end if end >= 0 else len(self.text)
            elif not self.text.startswith(("<(", ">("), self._place) and (match := self._match(_REDIRECT)):
                found.append(self._redirect(match))
            elif match := self._match(_OPERATOR):
                found.append(_Token("operator", match))
                if match == "\n":
                    self._read_documents()
            else:
                found.append(_Token("word", self._word()))
        return found

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self._place)
        self._place = match.end() if match else self._place
        return match[0] if match else ""

    def _redirect(self, operator: str) -> _Token:
        while self.text[self._place : self._place + 1] in {" ", "\t"}:
            self._place += 1
        start = self._place
        target = self._word() if self._place < len(self.text) else ""
        token = _Token("redirect", operator.lstrip("0123456789"), target)
        if token.text in {"<<", "<<-"}:
            raw = self.text[start : self._place]
            self._documents.append((token, re.sub(r"[\"'\\]", "", raw), any(mark in raw for mark in "\"'\\")))
        return token

    def _read_documents(self) -> None:
        for token, mark, quoted in self._documents:
            lines = []
            while self._place < len(self.text):
                end = self.text.find("\n", self._place)
                end = end if end >= 0 else len(self.text)
                line, self._place = self.text[self._place : end], end + 1
                if (line.lstrip("\t") if token.text == "<<-" else line) == mark:
                    break
                lines.append(line)
            token.body = "\n".join(lines)
            if not quoted:
                self._look_into(token.body)
        self._documents.clear()

    def _look_into(self, text: str) -> None:
        """Collect the substitutions of a text in which quotes mean nothing."""
        other = _Reader(text, {})
        while other._place < len(text):
            other._plain('"')
        self.inner += other.inner

    def _word(self) -> str:
        parts: list[str] = []
        while self._place < len(self.text):
            char = self.text[self._place]
            if self.text.startswith(("<(", ">("), self._place):
                self._place += 2
                self.inner.append(self._until(")"))
                parts.append(ACTIVE + "_")
            elif char in " \t\r\n;&|()<>":
                break
            elif char == "'":
                parts.append(self._single())
            elif char == '"':
                parts.append(self._double())
            elif self.text.startswith("$'", self._place):
                parts.append(self._ansi())
            elif self.text.startswith('$"', self._place):
                self._place += 1
            else:
                parts.append(self._plain(""))
        return "".join(parts)

    def _single(self) -> str:
        end = self.text.find("'", self._place + 1)
        if end < 0:
            raise UnreadableShell("no closing quotation")
        text, self._place = self.text[self._place + 1 : end], end + 1
        return text

    def _ansi(self) -> str:
        match = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, self._place)
        if match is None:
            raise UnreadableShell("no closing quotation")
        self._place = match.end()
        return re.sub(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", _unescaped, match[1])

    def _double(self) -> str:
        self._place += 1
        parts: list[str] = []
        while self._place < len(self.text):
            if self.text[self._place] == '"':
                self._place += 1
                return "".join(parts)
            parts.append(self._plain('"'))
        raise UnreadableShell("no closing quotation")

    def _plain(self, quote: str) -> str:
        """Read one character, escape or expansion."""
        char = self.text[self._place]
        self._place += 1
        if char == "\\" and self._place < len(self.text):
            self._place += 1
            escaped = self.text[self._place - 1]
            kept = quote and escaped not in '$`"\\\n'
            return char + escaped if kept else escaped.replace("\n", "")
        if char == "`":
            self.inner.append(self._backticks())
            return ACTIVE + "_"
        return self._expansion() if char == "$" else char

    def _backticks(self) -> str:
        match = re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self._place)
        if match is None:
            raise UnreadableShell("no closing backtick")
        self._place = match.end()
        return re.sub(r"\\([\\`$])", r"\1", match[1])

    def _expansion(self) -> str:
        if self.text.startswith("((", self._place):
            self._place += 2
            self._look_into(self._until(")"))
            self._place += self.text.startswith(")", self._place)
            return "0"
        if self.text.startswith("(", self._place):
            self._place += 1
            self.inner.append(self._until(")"))
            return ACTIVE + "_"
        if self.text.startswith("{", self._place):
            self._place += 1
            content = self._until("}")
            self._look_into(content)
            if content in self.env:
                return self.env[content]
            return f"{ACTIVE}{{{(_PLAIN_VARIABLE.match(content) or [''])[0]}}}"
        name = _PLAIN_VARIABLE.match(self.text, self._place) or _VARIABLE.match(self.text, self._place)
        if name is None:
            return "$"
        self._place = name.end()
        return "0" if name[0] in _NUMBERS else self.env.get(name[0], ACTIVE + name[0])

    def _until(self, close: str) -> str:
        """Give what stands before the bracket that closes, brackets and quotes in between respected."""
        opening = {")": "(", "}": "{"}[close]
        start, depth = self._place, 1
        while self._place < len(self.text):
            char = self.text[self._place]
            if char == "\\":
                self._place += 1
            elif char == "'":
                self._single()
                continue
            elif char == '"':
                self._skip_double()
                continue
            depth += (char == opening) - (char == close)
            self._place += 1
            if depth == 0:
                return self.text[start : self._place - 1]
        raise UnreadableShell(f"no closing {close}")

    def _skip_double(self) -> None:
        other = _Reader(self.text, {}, place=self._place)
        other._double()
        self._place = other._place


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return chr(int(code, 8) % 256) if code[0] in "01234567" else _ESCAPES.get(code, code)


@define
class _Part:
    """What stands between two separators."""

    piped: bool = False
    words: list[str] = field(factory=list)
    redirects: list[str] = field(factory=list)
    inputs: list[str] = field(factory=list)


def _simple(tokens: list[_Token]) -> Iterator[Simple]:
    said: list[str] = []
    for part in _parts(tokens):
        words, assigned = _program_words(part.words)
        stdin = "\n".join([*part.inputs, *(said if part.piped else ())])
        said.append(" ".join(part.words))
        if words or assigned or part.redirects:
            yield Simple(tuple(words), tuple(assigned), tuple(part.redirects), stdin, part.piped or bool(part.inputs))


def _parts(tokens: list[_Token]) -> Iterator[_Part]:
    part, in_pattern = _Part(), False
    for place, token in enumerate(tokens):
        if in_pattern:
            # Of ``case``: a pattern runs nothing, and ends with a bracket.
            in_pattern = token.text not in {")", "esac"}
        elif token.kind == "word":
            part.words.append(token.text)
            in_pattern = part.words[0] == "case" and token.text == "in"
            part = _Part() if in_pattern else part
        elif token.kind == "redirect":
            _add_redirect(part, token)
        elif token.text == "(" and len(part.words) == 1 and _is_bracket(tokens, place + 1, ")"):
            part.words.clear()  # ``name ()`` defines a function
        else:
            yield part
            part = _Part(piped=token.text in {"|", "|&"})
            in_pattern = token.text in {";;", ";&", ";;&"}
    yield part


def _is_bracket(tokens: list[_Token], place: int, text: str) -> bool:
    return place < len(tokens) and tokens[place].kind == "operator" and tokens[place].text == text


def _add_redirect(part: _Part, token: _Token) -> None:
    if token.text.startswith("<") and token.text != "<>":
        part.piped = True
        part.inputs.append(token.body)
    elif not re.fullmatch(r"\d+-?|-", token.body):
        part.redirects.append(token.body)


def _program_words(words: list[str]) -> tuple[list[str], list[str]]:
    rest, assigned = list(words), []
    while rest and (rest[0] in _KEYWORDS or _ASSIGNMENT.match(rest[0])):
        word = rest.pop(0)
        assigned += [word] if word not in _KEYWORDS else []
        if word == "coproc" and rest[1:2] == ["{"]:
            rest.pop(0)  # the name of a coprocess
    if rest and rest[0] == "function":
        return _program_words(rest[2:])
    if rest and rest[0] in {"for", "select", "case"}:  # what follows names something and runs nothing
        return [], assigned
    return rest, assigned
