"""Fixtures of the tests with a real agent."""

from tests.support.agents import agent, bundles, collector, publisher

__all__ = ["agent", "bundles", "collector", "publisher"]
