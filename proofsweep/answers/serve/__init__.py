"""The results store as live pages: `app` first; `access` says who may do what, `shared_look` what goes on now."""
