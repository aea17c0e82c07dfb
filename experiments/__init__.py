"""One file a question: configuration, data, figure. The only place where mechanisms and attacks meet."""
