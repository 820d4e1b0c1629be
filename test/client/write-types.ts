/** Writes `spec/client/`: `npm run spec`. */
import { writeFileSync } from 'node:fs'
import { snapshotFile, snapshots } from './snapshots.ts'

for (const [name, text] of Object.entries(snapshots())) writeFileSync(snapshotFile(name), text)
