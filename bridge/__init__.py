"""The chat gateway: accepts messages durably, answers each turn once, delivers each part once or says `unknown`."""
