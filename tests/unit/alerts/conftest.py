"""Settings that lead to a service in this very process, and an empty store."""

from ..wired import app, catalog, change, config, service, settings

__all__ = ["app", "catalog", "change", "config", "service", "settings"]
