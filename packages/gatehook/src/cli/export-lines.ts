/** `gatehook customers export`, `gatehook users export`: prints an export (§18.11). */
import type { App } from '../app.ts'
import { type Api, nodeOf, withLocalApi, withRemoteApi } from './api.ts'
import type { Input } from './command.ts'
import { CommandError } from './errors.ts'
import { openStream } from './http-client.ts'
import { writeOut } from './output.ts'

interface ExportedOwner {
  /** Returns the path of the owner on a node. */
  readonly pathOf: (api: Api) => Promise<string>
  readonly readLocal: (app: App, api: Api) => Promise<AsyncIterable<string>>
}

/** Prints the export of the local installation, or of the node of `--url`. */
export async function printExport(input: Input, { pathOf, readLocal }: ExportedOwner) {
  const print = async (lines: AsyncIterable<string>) => {
    for await (const text of lines) await writeOut(text)
  }
  if (input.options.url === undefined) {
    return withLocalApi(input, undefined, async (api, app) => print(await readLocal(app, api)))
  }
  return withRemoteApi(input, async (api) => {
    const { url, key } = nodeOf(input)
    const path = `${await pathOf(api)}/export`
    const headers = { 'x-api-key': String(key) }
    const { text, message } = await openStream(url, path, headers, new AbortController().signal)
    if (!text) throw new CommandError(message)
    await print(text)
  })
}
