"""Which environment variables hold a model vendor's key: a CLI gets its own vendor's, and nobody else's."""

from __future__ import annotations

VENDOR_KEYS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_FOUNDRY_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CODEX_API_KEY",
        "COHERE_API_KEY",
        "CURSOR_API_KEY",
        "DEEPSEEK_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "PERPLEXITY_API_KEY",
        "TOGETHER_API_KEY",
        "XAI_API_KEY",
    }
)
"""Keys for models alone. Credentials of a cloud are none of these: a CLI may reach its models through them."""


def keys_of_others(*own: str) -> tuple[str, ...]:
    """Give every vendor's variables but ``own``, sorted: what an adapter removes for probes and runs."""
    return tuple(sorted(VENDOR_KEYS.difference(own)))
