/** Which Gatehook this is, from the package's own description. */
import { readFileSync } from 'node:fs'

const packageFile = new URL('../../package.json', import.meta.url)
const manifest = JSON.parse(readFileSync(packageFile, 'utf8'))

export const packageVersion: string = manifest.version
/** Versions of Node it runs on: `>=24.7`. */
export const nodeRange: string = manifest.engines.node
/** Whether `npm publish` packed this copy, so that the registry has its version. */
export const isPublished: boolean = manifest.publishedBy !== undefined
