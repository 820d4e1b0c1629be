/**
 * `docs/reference/rules.md`: each rule with what stands of it and the tests that hold it. Tests are
 * found by their file names.
 */
import { readdirSync } from 'node:fs'
import { type Chapter, chapters, type State } from './rules.ts'

const TESTS = new URL('../../packages/gatehook/test/rules/', import.meta.url)

/** What the name of a rule's test file begins with: `7.6` → `7-06-`, `13` → `13-`. */
function testPrefix(number: string): string {
  const [chapter, rule] = number.split('.')
  return rule === undefined ? `${chapter}-` : `${chapter}-${rule.padStart(2, '0')}-`
}

function stateText(state: State): string {
  return typeof state === 'string' ? state : `built, but for: ${state.part}`
}

function testsOf(number: string, files: readonly string[]): string {
  const names = files.filter((name) => name.startsWith(testPrefix(number)))
  return names.map((name) => `\`${name}\``).join('<br>') || '—'
}

/** The page. `files`: names in `packages/gatehook/test/rules/`. */
export function rulesPage(files: readonly string[] = ruleTests()): string {
  const chapter = ({ title, rules }: Chapter) =>
    [
      `## ${title}`,
      '',
      '| rule | in short | state | tests |',
      '| --- | --- | --- | --- |',
      ...rules.map(
        ({ number, sentence, state }) =>
          `| §${number} | ${sentence} | ${stateText(state)} | ${testsOf(number, files)} |`,
      ),
    ].join('\n')
  return `# Rules

This page is generated: \`npm run docs\`. Comments and tests name these rules by
their numbers. A rule's test is
\`packages/gatehook/test/rules/<chapter>-<rule>-<what holds>.test.ts\`: §7.6 is \`7-06-….test.ts\`.
A dash means that no file of that name stands; the rule may still be covered where its code stands.

${chapters.map(chapter).join('\n\n')}
`
}

const ruleTests = (): string[] =>
  readdirSync(TESTS)
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
