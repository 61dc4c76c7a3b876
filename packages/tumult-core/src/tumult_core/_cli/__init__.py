"""The ``tumult`` command. Modules here parse, call one library function and print."""
