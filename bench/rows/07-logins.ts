/** Row argon: what reads feel while passwords are hashed. */
import { checkUser, firstUserId, get, USERS } from '../asks.ts'
import { gatehook } from '../contenders.ts'
import { PASSWORD, personAt, postJson } from '../oauth.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 1000
const LOGINS = 20
const contender = gatehook({ users, own: 'logins' })

const people = new Map<string, Promise<string[]>>()

/** Made before anything is measured: their passwords are hashed, too. */
function peopleAt(url: string): Promise<string[]> {
  const made = people.get(url) ?? Promise.all(Array.from({ length: LOGINS }, () => personAt(url)))
  people.set(url, made)
  return made
}

async function reads(url: string) {
  await peopleAt(url)
  const first = await firstUserId(url)
  return Array.from({ length: users }, (_, n) => get(`${USERS}/${first + n}`, first + n))
}

/** Twenty people who sign in again and again, all at once. */
async function logins(url: string, signal: AbortSignal): Promise<void> {
  const again = async (username: string) => {
    while (!signal.aborted) await postJson(`${url}/auth/login`, { username, password: PASSWORD })
  }
  await Promise.all((await peopleAt(url)).map(again))
}

const side = (name: string, beside?: Side['beside']): Side => ({
  name,
  contender,
  asks: reads,
  check: checkUser,
  ...(beside && { beside }),
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: 'argon',
    title: 'one row by id, API key, while twenty people sign in again and again, and idle',
    facts: { durability: 'FULL for logins', connections: 8, users },
    sides: [side('idle'), side('20 logins', logins)],
    targets: [{ of: '20 logins', to: 'idle', figure: 'p99', most: 3 }],
  },
]
