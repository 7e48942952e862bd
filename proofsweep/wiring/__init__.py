"""Builds the objects of all rooms from the settings; the only room that knows them."""
