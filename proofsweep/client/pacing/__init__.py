"""When a call may go. All pure, the time an argument, but for the dispatcher, which knows threads and clocks."""
