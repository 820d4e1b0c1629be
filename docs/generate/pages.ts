/** Lists the generated pages of `docs/reference/`, and the types of the API, with their text. */
import { existsSync, readFileSync } from 'node:fs'
import { configurationPage } from '../../packages/gatehook/src/platform/config/describe.ts'
import { alertRules, alertsPage, alertTests } from './alerts.ts'
import { auditPage } from './audit.ts'
import { dashboard } from './dashboard.ts'
import { declarationPage } from './declaration.ts'
import { errorsPage } from './errors.ts'
import { faultsPage } from './faults.ts'
import { limitsTable } from './limits.ts'
import { columnsFile, columnsModule, factsFile, factsModule } from './page-columns.ts'
import { typesModules, typesOf } from './page-types.ts'
import { figuresIn, performancePage, readPerformance, valueText } from './performance.ts'
import { performanceSvg } from './performance-svg.ts'
import { permissionsPage } from './permissions.ts'
import { readmeFigures } from './readme-figures.ts'
import { rulesPage } from './rules-page.ts'
import { schemaPage } from './schema.ts'

export interface Page {
  readonly file: URL
  /** The text that the code yields. */
  readonly text: string
}

const deploy = (name: string) => new URL(`../../deploy/${name}`, import.meta.url)
const reference = (name: string) => new URL(`../reference/${name}`, import.meta.url)

export function pages(): Page[] {
  const http = reference('http.md')
  return [
    { file: deploy('prometheus/alerts.yaml'), text: alertRules() },
    { file: deploy('prometheus/alerts.test.yaml'), text: alertTests() },
    { file: deploy('grafana/gatehook.json'), text: dashboard() },
    { file: reference('alerts.md'), text: alertsPage() },
    { file: reference('audit.md'), text: auditPage() },
    { file: reference('configuration.md'), text: configurationPage() },
    { file: reference('declaration.md'), text: declarationPage() },
    { file: reference('errors.md'), text: errorsPage() },
    { file: reference('faults.md'), text: faultsPage() },
    { file: reference('permissions.md'), text: permissionsPage() },
    { file: reference('rules.md'), text: rulesPage() },
    { file: reference('schema.md'), text: schemaPage() },
    ...performancePages(),
    ...typesModules.map((module) => ({ file: module.file, text: typesOf(module) })),
    { file: columnsFile, text: columnsModule() },
    { file: factsFile, text: factsModule() },
    { file: http, text: withBlock(readFileSync(http, 'utf8'), 'limits', limitsTable()) },
  ]
}

/** The page of performance, its plot and the table of the README, once a run is stored. */
function performancePages(): Page[] {
  const performance = readPerformance()
  if (!performance) return []
  const figures = figuresIn(performance)
  const plot = performanceSvg(figures, valueText)
  const readme = new URL('../../README.md', import.meta.url)
  const table = readmeFigures(figures)
  return [
    { file: readme, text: withBlock(readFileSync(readme, 'utf8'), 'figures', table) },
    { file: reference('performance.md'), text: performancePage(performance) },
    { file: new URL('../images/performance.svg', import.meta.url), text: plot },
  ]
}

/** Returns the stored text of the page; undefined without a file. */
export const current = ({ file }: Page): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined

/** Replaces the generated part of a handwritten page, between two comments. */
function withBlock(page: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name}: generated -->`, `<!-- /${name} -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`the page has no part ${start} … ${end}`)
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`
}
