import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** The lab's producer on the Java client. It takes the arguments that every producer of the lab takes (package clients). */
public final class Producer {
  private final Map<String, String> arguments = new HashMap<>();
  private final Properties config = new Properties();
  private final AtomicInteger acknowledged = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();
  private KafkaProducer<String, String> producer;

  public static void main(String[] words) throws Exception {
    new Producer(words).run();
  }

  private Producer(String[] words) {
    for (String word : words) {
      int at = word.indexOf('=');
      String name = word.substring(0, at);
      String value = word.substring(at + 1);
      if (name.startsWith("x.")) {
        config.put(name.substring(2), value);
      } else {
        arguments.put(name, value);
      }
    }
    config.put("bootstrap.servers", arguments.get("brokers"));
    config.put("client.id", arguments.get("client-id"));
    config.put("acks", arguments.get("acks"));
    config.put("compression.type", arguments.get("codec"));
    config.put("enable.idempotence", arguments.get("idempotent"));
    config.put("request.timeout.ms", arguments.get("timeout"));
    config.putIfAbsent("linger.ms", "0");
    config.putIfAbsent("retries", "1000");
    if (number("transaction") > 0) {
      config.put("transactional.id", arguments.get("client-id"));
    }
  }

  private int number(String name) {
    return Integer.parseInt(arguments.get(name));
  }

  private void run() throws Exception {
    producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    if (number("transaction") > 0) {
      transactions();
    } else {
      for (int i = 0; i < number("count"); i++) {
        round(i);
        Thread.sleep(number("pause"));
      }
    }
    producer.close();
    System.out.println("acknowledged " + acknowledged + " failed " + failed);
  }

  /** Sends the value of number i to every partition. */
  private void round(int i) {
    for (int p = 0; p < number("partitions"); p++) {
      var record = new ProducerRecord<>(arguments.get("topic"), p, "k" + i % 7, String.format("p%d-%06d", p, i));
      producer.send(record, (metadata, e) -> (e == null ? acknowledged : failed).incrementAndGet());
    }
  }

  /** Sends the values in transactions of so many rounds. Every fourth one is aborted, and its values are sent again. */
  private void transactions() {
    producer.initTransactions();
    int size = number("transaction");
    int n = 0;
    for (int first = 0; first < number("count"); ) {
      n++;
      producer.beginTransaction();
      for (int i = first; i < first + size; i++) {
        round(i);
      }
      producer.flush();
      if (n % 4 == 0) {
        producer.abortTransaction();
        continue;
      }
      producer.commitTransaction();
      first += size;
    }
  }
}
