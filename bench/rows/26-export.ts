/** Row 26: exports of a million rows to one caller. */
import { isoTime } from '../../packages/gatehook/src/kernel/time.ts'
import { gatehook } from '../contenders.ts'
import { userOf } from '../data.ts'
import { get, USERS } from '../requests.ts'
import type { ExportRow, ExportSide } from '../row.ts'

const users = 1_000_000
const contender = gatehook({ users, service: 'collections' })

/** Compares a line with the user that its id names. */
function checkLine(line: string): string | undefined {
  const row = JSON.parse(line) as { id: number; name: string; email: string; created_at: string }
  const { name, email, createdAt } = userOf(row.id, false)
  const isRight = row.name === name && row.email === email && row.created_at === isoTime(createdAt)
  return isRight ? undefined : `the line is not user ${row.id}: ${line}`
}

/** A table starts with the names of its columns. */
function checkCell(line: string): string | undefined {
  if (line.startsWith('id,')) return undefined
  const id = Number(line.slice(0, line.indexOf(',')))
  return line.includes(userOf(id, false).email) ? undefined : `the line is not user ${id}: ${line}`
}

function side(name: string, accept: string, lines: number, check: ExportSide['check']): ExportSide {
  const request = get(USERS)
  const headers = { ...request.headers, accept }
  const target = { rate: 200_000, growthMb: 30 }
  return { name, contender, request: { ...request, headers }, lines, check, target }
}

export const rows: ExportRow[] = [
  {
    kind: 'export',
    name: '26d',
    title: 'export of a whole list to one caller',
    facts: { durability: 'reads only', connections: 1, users },
    sides: [
      side('NDJSON', 'application/x-ndjson', users, checkLine),
      side('CSV', 'text/csv', users + 1, checkCell),
    ],
  },
]
