/** Tables of the nodes of an installation, and of the customers that each serves. */
import { int, type Table, text } from '../storage/table.ts'

const nodes: Table = {
  name: 'gh_nodes',
  row:
    'A node that runs; see `registry.ts`. JSON: `facts` are those of `operate/monitoring/`, ' +
    '`columns` the columns of resources that the node uses, `key_ids` its master secrets. ' +
    '`heartbeat` counts the heartbeats of its delivery engine; null: it holds no customer.',
  columns: {
    id: text.plain,
    name: text.plain,
    slot: int,
    facts: text.plain,
    columns: text.plain,
    key_ids: text.plain,
    seen_at: int,
    heartbeat: int.orNull,
  },
  key: ['id'],
  place: 'local',
  belongs: 'installation',
  stays: 'until the node ends, or 45 s after its last report',
  ofNodes: true,
}

const deliveryLeases: Table = {
  name: 'gh_delivery_leases',
  row: 'The node that serves a customer.',
  columns: {
    customer_no: int,
    node: text.plain,
  },
  key: ['customer_no'],
  place: 'local',
  belongs: { customerNo: 'customer_no' },
  indexes: {
    node: { on: 'node', serves: 'the customers of a node' },
  },
  stays: 'until the node ends',
  ofNodes: true,
}

export const nodesTables: readonly Table[] = [nodes, deliveryLeases]
