import type { Store } from "counterfoil";

/** The same store, whose transactions a test sees or delays, or fails. */
export function wrappedStore(store: Store, transaction: Store["transaction"]): Store {
  return replacing(store, { transaction });
}

/** The same object with some members replaced; its own methods keep its private state. */
export function replacing<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get: (own, name) => {
      const value: unknown = Reflect.get(name in members ? members : own, name);
      return typeof value === "function" && !(name in members) ? value.bind(own) : value;
    },
  });
}
