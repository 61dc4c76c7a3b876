"""Which programs delete, format, or run what they fetched: the part of the policy that knows names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_intelligence import _data_stores
from tumult_intelligence._code import awk_problem, interpreter_problem
from tumult_intelligence._commands import AWK, INTERPRETER
from tumult_intelligence._python_modules import is_interpreters_own, is_looking
from tumult_intelligence._shell import ACTIVE, PLACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tumult_intelligence._commands import Command
    from tumult_intelligence._files import Made


@frozen
class Refusal:
    """Why a command is refused, and what to do instead."""

    code: str
    message: str
    hint: str


LOADER_VARIABLES = frozenset(
    {
        "BASH_ENV",
        "ENV",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "PYTHONINSPECT",
        "PATH",
        "GCONV_PATH",
        "IFS",
        "PS4",
    }
    | {"PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "GEM_PATH"}
    | {"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "PAGER", "MANPAGER", "PROMPT_COMMAND"}
    | {
        "EDITOR",
        "VISUAL",
        "BROWSER",
        "LESSOPEN",
        "LESSCLOSE",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "SHELL",
        "ZDOTDIR",
        "FPATH",
    }
    | {
        "LUA_INIT",
        "LUA_PATH",
        "LUA_CPATH",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "PSQL_PAGER",
        "PSQL_EDITOR",
        "PYTHONBREAKPOINT",
    }
    | {"MAKEFLAGS", "RSYNC_RSH", "CVS_RSH", "DOTNET_STARTUP_HOOKS", "OPENSSL_CONF", "SHELLOPTS", "BASHOPTS", "CDPATH"}
    | {
        "MYSQL_PS1",
        "KUBECONFIG_EXEC",
        "KUBE_EDITOR",
        "TERM_PROGRAM_PATH",
        "SYSTEMD_PAGER",
        "TAR_OPTIONS",
        "XDG_CONFIG_HOME",
    }
)
_LOADER_FAMILY = re.compile(r"^(?:LD_|DYLD_|GIT_|BASH_FUNC_|LUA_(?:INIT|PATH|CPATH)_|npm_config_|COR_|CORECLR_)")
_SYSTEM_PATH = re.compile(rf"^(?:[{ACTIVE}]\{{?PATH\}}?|/usr/local/s?bin|/usr/s?bin|/s?bin|:)+$")

_DELETES = frozenset(
    {"shred", "srm", "wipe", "unlink", "dropdb", "wipefs", "trash", "del", "rd", "remove-item", "erase"}
)
_FORMATS = frozenset(
    {
        "mke2fs",
        "mkswap",
        "fdisk",
        "sfdisk",
        "cfdisk",
        "gdisk",
        "sgdisk",
        "parted",
        "blkdiscard",
        "format",
        "format-volume",
    }
    | {"lvremove", "vgremove", "pvremove", "newfs", "diskutil", "badblocks", "clear-disk", "hdparm"}
)
_FETCH_RUNNERS = frozenset({"npx", "uvx", "bunx", "pnpx", "invoke-expression", "iex", "invoke-webrequest"})
_FETCHES_AND_RUNS = re.compile(
    r"^(?:pipx run|pip3? install|npm (?:exec|install|i)\b|yarn dlx|pnpm dlx|uv (?:tool run|run|pip install)"
    r"|go (?:run|install)|cargo install|gem install|python[\d.]* -m pip|deno run"
    r"|(?:kubectl|oc) (?:.* )?(?:apply|create|replace)\b.*(?:-f|--filename|-k)[= ]?https?:)"
)
_READS_PROGRAM = frozenset({"at", "batch", "crontab", "source", "."})
_DEVICE = re.compile(r"^/dev/(?!null$|stdout$|stderr$|stdin$|tty|fd/|shm/|zero$|full$|u?random$|tcp/|udp/|log$|pts/)")
_VARIABLE_FOLDER = re.compile(rf"^{ACTIVE}\{{?[A-Za-z_]\w*\}}?/[\w./+-]+$")
_COMPUTED = re.compile(rf"[{ACTIVE}{PLACE}`*?{{]|^-|^\[(?!\[?$)")
_FORK_BOMB = re.compile(
    r"(?<![\w:.])(?P<name>[\w:.]{1,40})\s{0,9}\(\)\s{0,9}\{[^}]{0,200}?(?P=name)\s{0,9}[|&]\s{0,9}(?P=name)"
)
_SAYS_NOTHING = frozenset({"", ":", "true"})

_DELETE = "delete through a plugin's action that has an undo, or only what the same document made"
_FETCH = "install what a step needs before the experiment"
_PLAIN = "name the program, so that a reviewer sees what will run"
_SINGLE = "put it into single quotes, so that a reviewer sees what will run"
_ENV = "give the value through the step's `env:` and let the text read that variable, in quotes"


def refusals(commands: Sequence[Command], text: str, made: Made) -> Iterator[Refusal]:
    """Give every reason to refuse a command line.

    Args:
        commands: what it runs.
        text: the line as written.
        made: what the whole document makes.
    """
    if _FORK_BOMB.search(text):
        yield Refusal("fork-bomb", "it starts itself without end", "use an action that is bounded in time")
    seen: set[Refusal] = set()
    for command in commands:
        for refusal in _command_refusals(command, made):
            if refusal not in seen:
                seen.add(refusal)
                yield refusal


def sets_loader(name: str) -> bool:
    """Tell whether a variable of the environment decides which code a program loads."""
    return name in LOADER_VARIABLES or bool(_LOADER_FAMILY.match(name))


def _command_refusals(command: Command, made: Made) -> Iterator[Refusal]:
    shown = command.name.replace(ACTIVE, "$").replace(PLACE, "$")
    if any(PLACE in code for code in command.code):
        yield Refusal("placeholder-in-code", f"`{shown}` would read the value of a placeholder as shell text", _ENV)
    if any(ACTIVE in code for code in command.code):
        yield Refusal("computed-program", f"the text that `{shown}` reads is put together when the line runs", _SINGLE)
    if _COMPUTED.search(command.program) and not _VARIABLE_FOLDER.match(command.program):
        yield Refusal("computed-program", f"the program `{shown}` is known only when the line runs", _PLAIN)
    if _deletes(command, made):
        yield Refusal("deletes", f"`{shown}` deletes what no rollback brings back", _DELETE)
    if _formats(command):
        yield Refusal("formats", f"`{shown}` formats or overwrites a device", "leave it out")
    if _reads_program(command):
        yield Refusal("runs-input", f"`{shown}` runs what is not there to be read", "give the text with -c, or a file")
    if made.runs_own(command) or _fetches_and_runs(command):
        yield Refusal("download-and-run", "it runs what it writes or downloads itself", _FETCH)
    if names := sorted(filter(None, map(_loader, (*command.assigned, *_exported(command))))):
        yield Refusal("loader-variable", f"it sets {', '.join(names)}, which decides what code runs", "leave it out")
    yield from _code_refusals(command, shown)


def _exported(command: Command) -> tuple[str, ...]:
    return command.arguments if command.name in {"export", "env", "declare", "typeset", "readonly", "sudo"} else ()


def _loader(word: str) -> str:
    name, equals, value = word.partition("=")
    harmless = name == "PATH" and bool(_SYSTEM_PATH.match(value))
    return name if equals and sets_loader(name) and not harmless and name != "IFS" else ""


# --- deleting and formatting -----------------------------------------------------------------------------------------


def _deletes(command: Command, made: Made) -> bool:
    name, arguments = command.name.lower(), command.arguments
    if name in {"rm", "truncate", "rmdir"}:
        return not _own_files_only(command, made)
    if name == "mv":
        return "/dev/null" in arguments
    if name == "find":
        return any(word in {"-delete", "-fprint", "-fprintf", "-fls"} for word in arguments)
    if any(_empties(command, target, made) for target in _emptied(command)):
        return True
    return name in _DELETES or _data_stores.destroys(command)


def _own_files_only(command: Command, made: Made) -> bool:
    """Tell whether ``rm`` or ``truncate`` names plain files that the document makes, or one that the operator names."""
    names: list[str] = []
    recursive = command.name == "rmdir"
    words = iter(command.arguments)
    for word in words:
        if word == "--":
            names += words
        elif command.name == "truncate" and word in {"-s", "--size"}:
            next(words, "")
        elif re.fullmatch(r"-[rRfvd]+|--recursive", word) and command.name == "rm":
            recursive |= bool(set(word) & set("rR"))
        elif word.startswith("-") and not re.fullmatch(r"--(?:force|verbose|size=\w+)|-[fvcos]\w*", word):
            return False
        elif not word.startswith("-"):
            names.append(word)
    allowed = made.may_delete_folder if recursive else made.may_delete
    return bool(names) and all(
        allowed(name) or (command.direct and not recursive and _is_operators(name)) for name in names
    )


def _is_operators(name: str) -> bool:
    """Tell whether a name begins with a value that only the operator gives, when the experiment runs."""
    return bool(re.fullmatch(rf"{PLACE}\{{[\w.-]+\}}(?:/[\w.-]+)*", name)) and ".." not in name


def _emptied(command: Command) -> Iterator[str]:
    if command.name in _SAYS_NOTHING or (command.name == "cat" and command.arguments == ("/dev/null",)):
        yield from command.redirects
    if command.name == "tee" and command.stdin == "/dev/null":
        yield from (word for word in command.arguments if not word.startswith("-"))
    if command.name in {"cp", "install", "ln"} and "/dev/null" in command.arguments[:-1]:
        yield command.arguments[-1]
    if command.name == "dd":
        yield from (word[3:] for word in command.arguments if word.startswith("of="))


def _empties(command: Command, target: str, made: Made) -> bool:
    in_scratch = made.may_delete(target) and target.startswith(("/tmp/", "/var/tmp/"))  # noqa: S108 - names to look for
    harmless = in_scratch or target.startswith("/dev/")
    in_own_folder = any(target.startswith(f"{folder}/") for folder in made.folders) and ".." not in target
    return not (harmless or in_own_folder or (command.direct and _is_operators(target)))


def _formats(command: Command) -> bool:
    name = command.name.lower()
    targets = [word.removeprefix("of=") for word in command.arguments if word.startswith("of=")]
    if any(map(_DEVICE.match, (*command.redirects, *targets))):
        return True
    if name in {"tee", "cp", "mv", "install"} and any(map(_DEVICE.match, command.arguments)):
        return True
    if name == "dd" and any({ACTIVE, PLACE} & set(target) for target in targets):
        return True
    return name.startswith("mkfs") or (name in _FORMATS and bool(command.arguments) and "-l" not in command.arguments)


# --- running what cannot be read -------------------------------------------------------------------------------------


def _reads_program(command: Command) -> bool:
    """Tell whether a shell or interpreter reads its program from where nobody sees it."""
    name, arguments = command.name, command.arguments
    if name in _READS_PROGRAM:
        unseen = any({ACTIVE, PLACE} & set(word) or word.startswith("/dev/") for word in arguments)
        return command.piped or unseen or (name == "crontab" and "-l" not in arguments)
    if name == "ssh":
        return command.piped and not arguments[1:]
    if name in {"make", "gmake", "ed", "ex", "vim", "gdb"} and command.piped:
        return True
    if name in {"sudo", "doas"} and any(re.fullmatch(r"-\w*[si]|--login|--shell", word) for word in arguments):
        return True
    return command.unread or _gives_a_shell(name, arguments) or _reads_unseen(command)


def _gives_a_shell(name: str, arguments: Sequence[str]) -> bool:
    if name in {"nc", "ncat", "netcat"}:
        return any(re.match(r"-\w*[ec]$|--exec|--sh-exec|--lua-exec", word) for word in arguments)
    if name == "socat":
        return any(re.match(r"(?i)(?:exec|system|shell|open|create):", word) for word in arguments)
    return False


def _reads_unseen(command: Command) -> bool:
    arguments = command.arguments
    if not INTERPRETER.match(command.name):
        return False
    operands = [word for word in arguments if not word.startswith("-")]
    from_file = operands[:1] and ({ACTIVE, PLACE} & set(operands[0]) or operands[0].startswith("/dev/"))
    inline = any(re.match(r"-\w*[cerm]|--(?:version|eval|print|help)|-V$", word) for word in arguments)
    return "-" in arguments or (bool(from_file) and not inline) or (command.piped and not operands)


def _fetches_and_runs(command: Command) -> bool:
    line = " ".join((command.name, *command.arguments))
    return command.name.lower() in _FETCH_RUNNERS or bool(_FETCHES_AND_RUNS.match(line))


def _code_refusals(command: Command, shown: str) -> Iterator[Refusal]:
    """Look into the text of ``python -c``, ``perl -e``, ``awk`` and programs that can start others."""
    problem = None
    if INTERPRETER.match(command.name):
        problem = interpreter_problem(command.name, command.arguments)
        problem = "takes a placeholder as code" if any(PLACE in word for word in _code_words(command)) else problem
        if command.name.startswith(("python", "pypy")) and (module := _module(command)) is not None:
            problem = module
    elif command.name in AWK:
        problem = awk_problem(command.arguments)
    elif any(_STARTS_OTHERS.match(word) for word in command.arguments) and command.name in _STARTERS:
        problem = "starts another program"
    if problem is not None:
        yield Refusal("computed-program", f"the `{shown}` text {problem}", _PLAIN)


_STARTERS = frozenset({"tar", "git", "sed", "vim", "vi", "ex", "gdb", "make", "zip", "rsync", "ssh", "less", "man"})
_STARTS_OTHERS = re.compile(
    r"^(?:--checkpoint-action|--to-command|-I\b|--use-compress-program|-oProxyCommand|ProxyCommand|alias\.\w+=!|core\.\w+=|-c!"
    r"|:!|\+!|-ex$|s(.).*\1.*\1\w*e\w*$|--rsh|SHELL=|-TT|--unzip-command)"
)


def _code_words(command: Command) -> Iterator[str]:
    words = command.arguments
    for place, word in enumerate(words):
        if re.match(r"-\w*[ceErp]$|--eval$|--print$", word):
            yield from words[place + 1 : place + 2]
        elif word.startswith("-") and PLACE in word:
            yield word


def _module(command: Command) -> str | None:
    words = command.arguments
    for place, word in enumerate(words):
        if not word.startswith("-"):
            return None
        if match := re.fullmatch(r"-[bBdEhiIOqsSuvx]*m(.*)", word):
            name = match[1] or "".join(words[place + 1 : place + 2])
            return None if name in _LOOKING_MODULES or not is_interpreters_own(name) else f"runs the module {name}"
    return None


_LOOKING_MODULES = frozenset(
    {"json.tool", "http.server", "platform", "calendar", "sysconfig", "base64", "gzip", "this"}
)


def python_refusal(module: str, function: str) -> Refusal | None:
    """Give the reason to refuse a ``python`` step that calls the interpreter, the project or a tool beside it."""
    name = f"{module}.{function}"
    if is_looking(name) or not is_interpreters_own(module):
        return None
    return Refusal(
        "interpreter", f"{name} is no chaos function but part of Python or its tools", "use an action of the catalog"
    )
