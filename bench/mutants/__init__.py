"""Broken copies of the exact mechanisms: each has one edit, and its certificates must be refused.

`operators` makes edits of every kind everywhere, `written` lists subtle ones that no operator makes, `listing` chooses
among them. `trial` runs in a process of its own on a copy of the sources, and `running` runs many of those.
`equivalent` says which mutants keep law and privacy, and why.
"""
