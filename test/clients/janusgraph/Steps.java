import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.janusgraph.core.JanusGraph;
import org.janusgraph.core.JanusGraphFactory;

/** A whole application on top: a graph of 200 vertices, closed, opened and walked again, dropped. Steps ZOOKEEPER-PORT. */
public final class Steps {
  private static JanusGraph open(String port) {
    return JanusGraphFactory.build()
        .set("storage.backend", "hbase")
        .set("storage.hostname", "127.0.0.1")
        .set("storage.port", Integer.parseInt(port))
        .set("storage.hbase.table", "janusgraph")
        .open();
  }

  private static void same(Object expected, Object actual) {
    if (!expected.equals(actual)) throw new AssertionError("not " + expected + " but " + actual);
  }

  public static void main(String[] args) throws Exception {
    JanusGraph graph = open(args[0]);
    GraphTraversalSource g = graph.traversal();
    Vertex before = null;
    for (int i = 0; i < 200; i++) {
      Vertex vertex = g.addV("node").property("number", i).next();
      if (before != null) g.V(before).addE("next").to(vertex).iterate();
      before = vertex;
    }
    g.tx().commit();
    same(200L, g.V().count().next());
    graph.close();

    graph = open(args[0]);
    g = graph.traversal();
    same(200L, g.V().hasLabel("node").count().next());
    same(199L, g.E().count().next());
    same(12, g.V().has("number", 10).out("next").out("next").values("number").next());
    JanusGraphFactory.drop(graph);
    System.out.println("5 passed, 0 failed");
    System.exit(0);
  }
}
