// Azurite, until the standard input ends: it never outlives who started it.
process.stdin.on("end", () => process.exit()).resume();
require("azurite/dist/src/blob/main.js");
