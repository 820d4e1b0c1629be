/**
 * The device cookie: identifies a browser that has signed in at a page of this server (§3.8). It
 * grants no access. Its id is signed, so that a client cannot forge one.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../kernel/random.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Call } from '../../protocol/http/call.ts'
import { readCookie, setCookie } from '../../protocol/http/cookies.ts'
import type { SignInClient } from './recognized-clients.ts'

/** The purpose of the keys that sign ids. */
export const DEVICE_PURPOSE = 'device'
const NAME = 'gatehook_device'
const ID_BYTES = 16
/** The longest lifetime that browsers accept (RFC 6265bis §5.5). */
const MAX_AGE_S = 400 * 86_400
const SIGNED_ID = /^([\w-]{22})\.([\w-]{43})$/

/** The client of a sign-in at a page, and the cookie to set after a successful one. */
interface PageClient extends SignInClient {
  readonly cookie: string
}

export interface Devices {
  /** Returns the client of a request: its address, and its device if the cookie is valid. */
  clientOf(call: Call): SignInClient
  /** Returns the same for a sign-in page; a browser without a device gets a new one. */
  pageClientOf(call: Call): PageClient
}

export function createDevices(vault: Vault, random: Random): Devices {
  const keys = vault.macKeys(DEVICE_PURPOSE)
  const tagOf = (id: string, key = keys.current): Buffer =>
    createHmac('sha256', key).update(id).digest()
  const deviceOf = (call: Call): string | undefined => {
    const [, id, tag] = SIGNED_ID.exec(readCookie(call, NAME) ?? '') ?? []
    if (id === undefined) return undefined
    const sentTag = Buffer.from(tag!, 'base64url')
    return keys.accepted.some((key) => timingSafeEqual(sentTag, tagOf(id, key))) ? id : undefined
  }
  const cookieOf = (call: Call, id: string): string =>
    setCookie(call, {
      name: NAME,
      value: `${id}.${tagOf(id).toString('base64url')}`,
      sameSite: 'lax',
      maxAgeS: MAX_AGE_S,
    })
  return {
    clientOf: (call) => ({ address: call.address, requestId: call.id, device: deviceOf(call) }),
    pageClientOf(call) {
      const device = deviceOf(call) ?? random.bytes(ID_BYTES).toString('base64url')
      const { address, id: requestId } = call
      return { address, requestId, device, cookie: cookieOf(call, device) }
    },
  }
}
