/** Row argon: the latency of reads while the server hashes passwords. */

import { gatehook } from '../contenders.ts'
import { PASSWORD, personAt, postJson } from '../oauth.ts'
import { checkUser, firstUserId, get, USERS } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 1000
const LOGINS = 20
const contender = gatehook({ users, own: 'logins' })

const people = new Map<string, Promise<string[]>>()

/** Creates the persons before the measurement, because that hashes passwords, too. */
function peopleAt(url: string): Promise<string[]> {
  const names = people.get(url) ?? Promise.all(Array.from({ length: LOGINS }, () => personAt(url)))
  people.set(url, names)
  return names
}

async function reads(url: string) {
  await peopleAt(url)
  const first = await firstUserId(url)
  return Array.from({ length: users }, (_, n) => get(`${USERS}/${first + n}`, first + n))
}

/** Twenty persons sign in repeatedly, all at once. */
async function logins(url: string, signal: AbortSignal): Promise<void> {
  const signInRepeatedly = async (username: string) => {
    while (!signal.aborted) await postJson(`${url}/auth/login`, { username, password: PASSWORD })
  }
  await Promise.all((await peopleAt(url)).map(signInRepeatedly))
}

const side = (name: string, beside?: Side['beside']): Side => ({
  name,
  contender,
  requests: reads,
  check: checkUser,
  ...(beside && { beside }),
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: 'argon',
    title: 'one row by id, API key, while twenty persons sign in repeatedly, and idle',
    facts: { durability: 'FULL for logins', connections: 8, users },
    sides: [side('idle'), side('20 logins', logins)],
    targets: [{ of: '20 logins', to: 'idle', figure: 'p99', most: 3 }],
  },
]
