"""The command line: modules that parse, call one function and print."""
