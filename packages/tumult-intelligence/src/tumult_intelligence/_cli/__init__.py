"""The subcommands that this distribution brings to ``tumult``."""
