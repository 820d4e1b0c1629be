#!/usr/bin/env node
/**
 * Entry point of the process. It enables the compile cache before it loads the program, so that no
 * thread loads the type stripper (14 MB).
 */
import '../../bin/compile-cache.cjs'

const { endWithNpm } = await import('./npm-watch.ts')
endWithNpm()
const { run } = await import('./program.ts')
await run(process.argv.slice(2))
