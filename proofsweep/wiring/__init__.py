"""Builds the objects of all rooms from the settings; the only room that knows them.

`stores`, `engines` (the service), `runs`, `legs`, `operations` (audits, too) and `watching` (folders and alerts): each
function takes settings and calls one function of a room, which has the steps. Commands and flows come in here.
"""
