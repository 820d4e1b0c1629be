/** Which Gatehook this is, from the package's own description. */
import { readFileSync } from 'node:fs'

const packageFile = new URL('../../package.json', import.meta.url)

export const packageVersion: string = JSON.parse(readFileSync(packageFile, 'utf8')).version
