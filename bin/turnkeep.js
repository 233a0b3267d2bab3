#!/usr/bin/env node
// The `turnkeep` executable. It is a script in ECMAScript 5, which every Node can read, so that an old Node prints one line about what to
// install and not a syntax error. The server needs Node 24, which is a dependency of a working copy and may be installed next to the package.
'use strict'

var neededMajor = 24

if (Number(process.versions.node.split('.')[0]) >= neededMajor) require('./start.js')()
else require('./older-node.js')(neededMajor)
