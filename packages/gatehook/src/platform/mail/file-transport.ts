/** Stores each mail as an `.eml` file: the transport of a service that declares none. */
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../kernel/files.ts'
import type { MailTransport } from './message.ts'
import { composeMail } from './smtp.ts'

/** Files in the folder; the oldest are deleted. */
export const MAIL_FILES_MAX = 200
const MAIL_FILE = /^[\w-]+\.eml$/

/** Returns the names of the mail files of a folder, oldest first: ids sort by time. */
async function listMailFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => MAIL_FILE.test(name)).sort()
}

export const createFileTransport = (folder: string): MailTransport => ({
  async send(message) {
    makeFolder(folder)
    const file = join(folder, `${message.id}.eml`)
    // The file has a token: no other user of the machine may read it.
    await writeFile(`${file}.part`, await composeMail(message), { mode: 0o600 })
    await rename(`${file}.part`, file)
    const files = await listMailFiles(folder)
    for (const name of files.slice(0, Math.max(0, files.length - MAIL_FILES_MAX))) {
      await rm(join(folder, name), { force: true })
    }
  },
})
