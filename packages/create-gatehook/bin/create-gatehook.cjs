#!/usr/bin/env node
// `npm create gatehook DIR` is `gatehook init DIR`, with the Gatehook this package depends on.
'use strict'

const { dirname, join } = require('node:path')

const manifest = require.resolve('gatehook/package.json')
process.argv.splice(2, 0, 'init')
require(join(dirname(manifest), require(manifest).bin.gatehook))
