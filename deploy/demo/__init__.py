"""The demo: a simulated van, a broker and an agent on one computer. The tests use its processes too."""
