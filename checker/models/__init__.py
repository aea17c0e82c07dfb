"""The published algorithms, as plain as their papers print them: what the mechanisms' dialogues are compared with."""
