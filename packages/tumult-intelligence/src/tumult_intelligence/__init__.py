"""What to break next, and is the proposal sound: signals, ranking, agents and a gate for what they propose."""
