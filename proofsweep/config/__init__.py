"""What the program is told: settings from a profile, the environment and a file, and what all rooms need of a machine.

`sections` has every setting, in frozen sections that are passed as they are; `load` reads them. `logs` writes events,
`locations` and `buckets` say where something lies.
"""
