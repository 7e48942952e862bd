"""Settings that lead to a service in this very process, and an empty store."""

from ..wired import catalog, change, config, service, settings

__all__ = ["catalog", "change", "config", "service", "settings"]
