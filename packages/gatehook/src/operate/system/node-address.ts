/**
 * The base of absolute links, and the address at which a node of this installation serves. The node
 * stores it, so that commands print links that open although the node has another port than their
 * configuration.
 */

import type { Log } from '../../kernel/log.ts'
import { type Config, publicUrlOf } from '../../platform/config/config.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { deleteSettingOf, readSetting, writeSetting } from '../../platform/storage/settings.ts'

const SETTING = 'node_address'

interface NodeAddressDeps {
  readonly config: Config
  readonly log: Log
}

export interface NodeAddress {
  /** The base of absolute links. With port 0 it is final once the server listens. */
  readonly publicUrl: () => string
  /** Uses the address of the node that started last and has not ended, if there is one. */
  adoptRunningNode(db: Reader): Promise<void>
  /** Stores the address at which this node serves. */
  publish(db: Database, port: number): Promise<void>
  /** Deletes the address of this node; that of another node stays. */
  withdraw(db: Database): Promise<void>
}

export function createNodeAddress({ config, log }: NodeAddressDeps): NodeAddress {
  let url = publicUrlOf(config, config.port)
  let isPublished = false
  // Without its address, a node serves as well: on a read-only database, for example.
  const warn = (error: unknown) => log.debug({ err: error }, 'the address could not be stored')
  return {
    publicUrl: () => url,
    async adoptRunningNode(db) {
      if (config.publicUrl === null) url = (await readSetting<string>(db, SETTING)) ?? url
    },
    async publish(db, port) {
      url = publicUrlOf(config, port)
      isPublished = true
      await db.write((tx) => writeSetting(tx, SETTING, url)).catch(warn)
    },
    async withdraw(db) {
      if (!isPublished) return
      await db.write((tx) => deleteSettingOf(tx, SETTING, url)).catch(warn)
    },
  }
}
