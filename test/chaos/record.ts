/**
 * The record of faults, which `npm run chaos -- operate --record` writes and `npm run docs` turns
 * into `docs/reference/faults.md`: the newest run of each scenario without a broken promise.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { ChaosResult, ChaosScenario } from './scenario.ts'
import { type ProductWord, saidBy } from './witness.ts'

const FILE = new URL('../../docs/reference/faults.json', import.meta.url)
/** A sentence of the product can name many rows or columns. */
const TEXT_MAX = 240

/** A run: its counts, and the product's words that the scenario requires. */
export interface FaultRecord extends Omit<ChaosResult, 'faults'> {
  readonly title: string
  /** When the run ended, in UTC. */
  readonly at: string
}

export const readRecords = (): readonly FaultRecord[] =>
  existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : []

/** Returns the first word of the product for each pattern. */
export function wordsOf(patterns: readonly RegExp[], words: readonly ProductWord[]) {
  return [...new Set(patterns.flatMap((pattern) => words.find(saidBy(pattern)) ?? []))]
}

/**
 * Stores a run in place of the former one of its scenario.
 *
 * @param order - the names of all scenarios
 */
export function recordResult(
  { name, title, words: patterns = [] }: ChaosScenario,
  { faults: _, words: all, ...counts }: ChaosResult,
  folder: string,
  order: readonly string[],
): void {
  const words = wordsOf(patterns, all).map((word) => ({
    ...word,
    text: shorten(withoutFolders(word.text, folder)),
    source: withoutFolders(word.source, folder),
  }))
  const record: FaultRecord = { title, at: new Date().toISOString(), ...counts, words }
  const others = readRecords().filter(({ scenario }) => scenario !== name)
  const existing = [...others, record].filter(({ scenario }) => order.includes(scenario))
  const records = existing.toSorted((a, b) => order.indexOf(a.scenario) - order.indexOf(b.scenario))
  writeFileSync(FILE, `${JSON.stringify(records, null, 2)}\n`)
}

const shorten = (text: string): string =>
  text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text

/** Names the files of the scenario without their folders. */
const withoutFolders = (text: string, folder: string): string =>
  text.replace(/\/[^\s"',:;)]+/g, (path) =>
    path.startsWith(folder) ? `…/${basename(path)}` : path,
  )
