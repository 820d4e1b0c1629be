/** A service that only the tests of jobs know: pages that are printed, and two that are not. */
import { f, job, resource, service } from 'gatehook'

const pages = resource('pages', {
  fields: { id: f.id(), text: f.string().max(100) },
  list: { filter: ['id'], sort: ['id'] },
  access: { read: 'pages:read', create: 'pages:write', update: false, delete: false },
  events: ['page.created'],
})

/** The console has a page with this name, too. */
const customers = resource('customers', {
  fields: { id: f.id(), name: f.string() },
  list: { filter: ['id'], sort: ['id'] },
  access: { read: 'customers:read', create: 'customers:write', update: false, delete: false },
  events: [],
})

const printPage = job('print_page', { page_id: f.int() })
const bindBook = job('bind_book', { title: f.string() })

const DAY_MS = 86_400_000

export const printing = service({
  name: 'Printing house',
  versions: { v1: { released: '2026-01-01' } },
  resources: [pages, customers],
})
  .on(pages, 'page.created', async ({ event, write }) => {
    const { id, text } = event.data.object
    await write(async (tx) => {
      await tx.enqueue(printPage, { page_id: id })
      await tx.enqueue(bindBook, { title: text }, { runAt: event.created * 1000 + DAY_MS })
    })
  })
  .job(
    printPage,
    ({ input }) => {
      throw new Error(`no paper for page ${input.page_id}`)
    },
    { attempts: 1 },
  )
  .job(bindBook, () => {})
  .every('1h', 'clean_press', () => {})
