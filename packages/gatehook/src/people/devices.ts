/**
 * The device cookie: identifies a browser that has signed in at one of our pages (§3.8). It opens
 * nothing. Its id is signed, so that a client cannot invent one.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Call } from '../http/call.ts'
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import type { SignInClient } from './recognized-clients.ts'

/** The keys that sign ids. */
export const DEVICE_PURPOSE = 'device'
const NAME = 'gatehook_device'
const ID_BYTES = 16
/** The longest that browsers keep a cookie (RFC 6265bis §5.5). */
const MAX_AGE_S = 400 * 86_400
const FORM = /^([\w-]{22})\.([\w-]{43})$/

/** The client of a sign-in at a page, and the cookie to set when it succeeds. */
export interface PageClient extends SignInClient {
  readonly cookie: string
}

export interface Devices {
  /** The client of a call: its address, and its device where the cookie is valid. */
  clientOf(call: Call): SignInClient
  /** The same for a sign-in page; a browser without a device gets a new one. */
  pageClientOf(call: Call): PageClient
}

const nameOf = ({ secure }: Call): string => (secure ? `__Host-${NAME}` : NAME)

/** The value of a cookie; undefined also when two cookies have the name: one is not ours. */
export function cookieValue(call: Call, name: string): string | undefined {
  const prefix = `${name}=`
  const found = (call.headers.cookie ?? '').split(/; */).filter((one) => one.startsWith(prefix))
  return found.length === 1 && found[0] !== prefix ? found[0]!.slice(prefix.length) : undefined
}

export function createDevices(vault: Vault, random: Random): Devices {
  const keys = vault.macKeys(DEVICE_PURPOSE)
  const tagOf = (id: string, key = keys.current): Buffer =>
    createHmac('sha256', key).update(id).digest()
  const deviceOf = (call: Call): string | undefined => {
    const [, id, tag] = FORM.exec(cookieValue(call, nameOf(call)) ?? '') ?? []
    if (id === undefined) return undefined
    const sent = Buffer.from(tag!, 'base64url')
    return keys.accepted.some((key) => timingSafeEqual(sent, tagOf(id, key))) ? id : undefined
  }
  const cookieOf = (call: Call, id: string): string => {
    const value = `${id}.${tagOf(id).toString('base64url')}`
    const secure = call.secure ? '; Secure' : ''
    return `${nameOf(call)}=${value}; Path=/; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Lax${secure}`
  }
  return {
    clientOf: (call) => ({ address: call.address, device: deviceOf(call) }),
    pageClientOf(call) {
      const device = deviceOf(call) ?? random.bytes(ID_BYTES).toString('base64url')
      return { address: call.address, device, cookie: cookieOf(call, device) }
    },
  }
}
