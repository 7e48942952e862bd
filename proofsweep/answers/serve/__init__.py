"""The results store as live pages: `app` first; `access` says who may see and do what, `watch` what goes on now."""
