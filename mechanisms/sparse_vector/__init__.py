"""The sparse vector technique: of many queries, say which ones lie above a threshold, and pay for those alone."""
