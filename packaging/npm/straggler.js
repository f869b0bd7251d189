#!/usr/bin/env node
// Runs the program of the package for this platform.
"use strict";

const { spawnSync } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "straggler.exe" : "straggler";
let program;
try {
  program = require.resolve(`straggler-${platform}/${name}`);
} catch {
  console.error(`straggler: there is no package for ${platform}; build it from its source with cargo`);
  process.exit(2);
}
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`straggler: ${error.message}`);
  process.exit(2);
}
if (signal) {
  process.kill(process.pid, signal);
}
process.exit(status ?? 2);
