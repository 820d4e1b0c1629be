// The script `prepack` of each package: npm packs a staged copy (`pack.ts`), never the checkout,
// whose manifest names TypeScript sources.
'use strict'

console.error('Run "npm run pack" in the root of the repository, and publish its tarballs.')
process.exitCode = 1
