package codex

func enterCage() {}
