import java.io.PrintStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter;

/** Runs HFilePrettyPrinter over each file named, its output to `<file>.out`, in one Java process. */
public class Print {
  public static void main(String[] files) throws Exception {
    for (String file : files) {
      Configuration conf = HBaseConfiguration.create();
      conf.set("fs.defaultFS", "file:///");
      try (PrintStream out = new PrintStream(file + ".out", "ISO-8859-1")) {
        System.setOut(out); // The printer takes it when it is made.
        HFilePrettyPrinter printer = new HFilePrettyPrinter(conf);
        // -m metadata, -k checks the order of rows, -v says what is read, -p prints the cells.
        int code = printer.run(new String[] {"-m", "-k", "-v", "-p", "-f", "file://" + file});
        if (code != 0) out.println("EXIT " + code);
      } catch (Throwable error) {
        try (PrintStream out = new PrintStream(file + ".out", "ISO-8859-1")) {
          error.printStackTrace(out);
          out.println("EXIT " + error);
        }
      }
    }
  }
}
