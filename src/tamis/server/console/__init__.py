"""The console: pages for people, rendered on the server, with one small script."""
