#!/usr/bin/env node
/**
 * `gatehook`, the process: the commands are `program.ts`, loaded once what is compiled is kept.
 * `bin/gatehook.cjs` begins here with 14 MB less: that one need not be stripped of types.
 */
import '../../bin/compile-cache.cjs'

const { run } = await import('./program.ts')
await run(process.argv.slice(2))
