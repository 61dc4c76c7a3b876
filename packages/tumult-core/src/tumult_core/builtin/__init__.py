"""The plugins that tumult-core itself brings, through the same entry points as anybody's."""
